"""A worker's channel and control without a recorder: what is sent is noted, and a job can be stopped."""

from firstlight.lab._worker import Channel, Control


class _Noting(Channel):
    def __init__(self):
        self.messages = []

    def send(self, message, arrays=None):
        self.messages.append((message, arrays))


class _Stopping(Control):
    def __init__(self, channel, stop_after):
        super().__init__(channel)
        self._left = stop_after

    def hold(self):
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self.stopping.set()


class Line:
    """Runs a duty; `stop_after` is the number of times that it may ask whether to go on."""

    def __init__(self, stop_after=None):
        self.channel = _Noting()
        self.control = _Stopping(self.channel, stop_after)

    def do(self, duty, payload):
        duty({"payload": payload}, self.channel, self.control)
        return self.end

    @property
    def messages(self):
        return self.channel.messages

    @property
    def end(self):
        return next(pair for pair in self.messages if pair[0].get("event") == "end")
