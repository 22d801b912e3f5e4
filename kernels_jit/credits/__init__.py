"""Networks with credits: routers, links, memories and sources in windows of cycles."""
