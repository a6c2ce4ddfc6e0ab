// One option of a plugin: how it is spelled, what value it takes, and its line of help. Its value is
// checked when `PluginArguments` reads the command line.

import PlugboardWire

/// `--name`, or `--name VALUE`.
///
/// ```swift
/// let keep = PluginOption.integer("keep", "N", 1...100, "how many old files to keep (4)")
/// ```
public struct PluginOption: Sendable {
    let option: CommandOption

    /// Whether the value is a file's name, which may have bytes that aren't UTF-8.
    public var isPath: Bool { option.isPath }

    /// An option without a value.
    public static func flag(_ name: String, _ help: String) -> PluginOption {
        PluginOption(option: CommandOption(flag: name, help))
    }

    /// An option that takes any text that isn't empty.
    public static func text(_ name: String, _ placeholder: String, _ help: String) -> PluginOption {
        PluginOption(option: CommandOption(name, placeholder, help))
    }

    /// An option that may stand several times. Its texts are joined by commas.
    public static func list(_ name: String, _ placeholder: String, _ help: String) -> PluginOption {
        PluginOption(option: CommandOption(name, placeholder, help, repeats: true))
    }

    /// An option that takes a whole number within bounds.
    public static func integer(
        _ name: String, _ placeholder: String, _ bounds: ClosedRange<Int>, _ help: String
    ) -> PluginOption {
        PluginOption(option: CommandOption(name, placeholder, help, .integer(bounds)))
    }

    /// An option that takes a number within bounds. It may have a fraction.
    public static func number(
        _ name: String, _ placeholder: String, _ bounds: ClosedRange<Double>, _ help: String
    ) -> PluginOption {
        PluginOption(option: CommandOption(name, placeholder, help, .number(bounds)))
    }
}
