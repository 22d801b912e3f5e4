"""What commands do. A module is imported when its command is called."""
