"""How the queue is, by HTTP: for uptime monitors, Prometheus, and programs of one's own."""
