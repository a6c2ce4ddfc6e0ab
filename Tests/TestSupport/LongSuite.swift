// Whether there is time for everything, and the figures that are printed.

import PlugboardPosix

/// The long suite: `.ci/long`.
public enum LongSuite {
    public static let isOn = SocketPath.variable("PLUGBOARD_LONG") == "1"

    /// How many of something there is time for.
    public static func count(_ long: Int, quick: Int) -> Int { isOn ? long : quick }

    /// Prints a figure on a line.
    public static func print(_ figure: String) {
        if isOn { Swift.print("figure: \(figure)") }
    }
}
