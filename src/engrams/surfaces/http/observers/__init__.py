"""Observers of finished requests: activity chart, audit log, request log, metrics, spans."""
