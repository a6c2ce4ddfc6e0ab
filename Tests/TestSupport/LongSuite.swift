// Whether the long suite runs, and how tests print figures.

import PlugboardPosix

/// The long suite, which `.ci/long` runs.
public enum LongSuite {
    public static let isOn = SocketPath.variable("PLUGBOARD_LONG") == "1"

    /// How many of something to do: `long` in the long suite, otherwise `quick`.
    public static func count(_ long: Int, quick: Int) -> Int { isOn ? long : quick }

    /// Prints a figure on a line.
    public static func print(_ figure: String) {
        if isOn { Swift.print("figure: \(figure)") }
    }
}
