// Whether there is time for everything.

import PlugboardPosix

/// The long suite: `PLUGBOARD_LONG=1 swift test`.
enum LongSuite {
    static let isOn = SocketPath.variable("PLUGBOARD_LONG") == "1"
}
