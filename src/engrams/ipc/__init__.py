"""Processes of one home talk: commands ask a running one, workers of a server keep each other informed.

`command_client` asks, `command_server` answers, `served_command` is the command that runs for another
process. `worker_links` join the worker processes of one server.
"""
