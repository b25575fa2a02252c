"""The program `engrams`: its console script, its commands, and the surfaces that it puts together.

Surfaces know nothing of each other. Here they meet: `entry` is the console script, `command_table`
lists the commands, and `registry` makes what a server consists of.
"""
