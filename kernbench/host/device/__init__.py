"""The device under the API: messages, launches, DMA and memory of each SIP."""
