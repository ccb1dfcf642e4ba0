"""Who waits for what: asking, leaving, changing one's mind, and proving that an address is one's own."""
