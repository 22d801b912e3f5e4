"""The viewer: a page on loopback that shows what runs leave, while they leave it."""
