"""What ``queue_doctor`` looks at."""
