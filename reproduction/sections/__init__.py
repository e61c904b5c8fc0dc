"""One file for each table or figure of the study: what it shows, from the results alone."""
