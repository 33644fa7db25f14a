"""What holds for every page in admin, whoever wrote it: a page that comes later is tested without being named."""
