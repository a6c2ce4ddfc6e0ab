// One option of a plugin's command line: how it is spelled, what value it takes, its
// line of help.

/// `--name`, or `--name VALUE`.
///
/// ```swift
/// let keep = PluginOption.integer("keep", "N", 1...100, "how many old files to keep (4)")
/// ```
public struct PluginOption: Sendable {
    enum Kind: Sendable {
        case flag
        case text
        case integer(ClosedRange<Int>)
        case number(ClosedRange<Double>)
    }

    let name: String
    let placeholder: String
    let kind: Kind
    let help: String

    /// An option without a value.
    public static func flag(_ name: String, _ help: String) -> PluginOption {
        PluginOption(name: name, placeholder: "", kind: .flag, help: help)
    }

    /// An option that takes any text but an empty one.
    public static func text(_ name: String, _ placeholder: String, _ help: String) -> PluginOption {
        PluginOption(name: name, placeholder: placeholder, kind: .text, help: help)
    }

    /// An option that takes a whole number within bounds.
    public static func integer(
        _ name: String,
        _ placeholder: String,
        _ bounds: ClosedRange<Int>,
        _ help: String
    ) -> PluginOption {
        PluginOption(name: name, placeholder: placeholder, kind: .integer(bounds), help: help)
    }

    /// An option that takes a number within bounds, fractions allowed.
    public static func number(
        _ name: String,
        _ placeholder: String,
        _ bounds: ClosedRange<Double>,
        _ help: String
    ) -> PluginOption {
        PluginOption(name: name, placeholder: placeholder, kind: .number(bounds), help: help)
    }

    static let help = flag("help", "show this text")
    static let socket = text(
        "socket",
        "PATH",
        "the broker's socket; by default PLUGBOARD_SOCKET, or else the user's own place"
    )
    static let peer = text(
        "peer",
        "USER",
        "also accept this user's broker, beside your own and root's; by default PLUGBOARD_PEER"
    )
    static let ownName = text("name", "NAME", "the name to write under; by default PLUGBOARD_NAME")

    var takesValue: Bool {
        if case .flag = kind { false } else { true }
    }

    /// `--socket PATH`.
    var usage: String {
        takesValue ? "--\(name) \(placeholder)" : "--\(name)"
    }

    /// Why `text` can't be the value; nil where it can.
    func fault(of text: String) -> String? {
        switch kind {
        case .flag: "takes no value"
        case .text: text.isEmpty ? "is empty" : nil
        case .integer(let bounds):
            Int(text).map(bounds.contains) == true
                ? nil : "is a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
        case .number(let bounds):
            Double(text).map(bounds.contains) == true
                ? nil : "is a number from \(bounds.lowerBound) to \(bounds.upperBound)"
        }
    }
}
