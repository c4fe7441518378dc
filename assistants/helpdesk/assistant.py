"""The helpdesk's own methods."""

from typing import Any

from yaoci import Message


async def notify(message: Message, to: str, context: Any) -> None:
    """Tell the desk that a customer waits for a parcel: a message that hosts show beside the answer."""
    await context.send({"type": "event", "text": f"notified {to}: {message.text}", "props": {"to": to}})
