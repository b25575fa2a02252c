"""Tell other services about memories that changed.

``registry.WebhookRegistry`` keeps the addresses of each owner, ``delivery.WebhookDeliverer`` follows
the changes and sends them, ``public_addresses`` refuses addresses inside the private network.
"""
