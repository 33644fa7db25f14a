"""A real Chromium on a live server with a real worker: what only a browser can tell. Few, and quick."""
