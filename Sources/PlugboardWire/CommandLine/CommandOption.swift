// One option or argument of a program: how it is spelled, what value it takes, and its line of help.
// `CommandSyntax` has the list for a program, and `Invocation` checks the values.

/// `--name`, or `--name VALUE`; `-n` for short, if it has a letter.
public struct CommandOption: Sendable {
    /// The values that an option takes.
    public enum Kind: Sendable {
        /// No value.
        case flag
        case text
        /// A whole number within bounds.
        case integer(ClosedRange<Int>)
        /// A number within bounds. It may have a fraction.
        case number(ClosedRange<Double>)
        /// A number of seconds, at most a year. It may have a fraction.
        case seconds
        /// One of several words.
        case choice([String])
    }

    /// The name without the dashes.
    public let name: String
    /// The letter, or digit, of its short form.
    public let short: Character?
    /// Whether it may stand several times. The values are joined by commas.
    public let repeats: Bool
    /// The value's name in the help, in capitals; empty for a flag.
    public let placeholder: String
    public let kind: Kind
    public let help: String

    public init(flag name: String, short: Character? = nil, _ help: String) {
        self.init(name, short: short, "", help, .flag)
    }

    public init(
        _ name: String,
        short: Character? = nil,
        _ placeholder: String,
        _ help: String,
        _ kind: Kind = .text,
        repeats: Bool = false
    ) {
        self.name = name
        self.short = short
        self.placeholder = placeholder
        self.kind = kind
        self.help = help
        self.repeats = repeats
    }

    /// `--help`. Every program has it.
    public static let help = CommandOption(flag: "help", short: "h", "show this text")

    public static let socket = CommandOption(
        "socket",
        short: "s",
        "PATH",
        "the broker's socket; by default PLUGBOARD_SOCKET, or else the user's own place"
    )

    public static let peer = CommandOption(
        "peer",
        "USER",
        "also accept this user's broker, beside your own and root's; by default PLUGBOARD_PEER"
    )

    /// Whether the value is a file's name, which may have any bytes.
    public var isPath: Bool { ["PATH", "DIR", "FILE", "PROGRAM", "unix:PATH"].contains(placeholder) }

    public var takesValue: Bool {
        if case .flag = kind { false } else { true }
    }

    /// `--socket PATH`.
    public var usage: String {
        takesValue ? "--\(name) \(placeholder)" : "--\(name)"
    }

    /// `-s, --socket PATH`, or `    --peer USER`: as a list of options shows it.
    public var listed: String { (short.map { "-\($0), " } ?? "    ") + usage }

    /// Whether a whole word of a command line is this option, without a value.
    public func isSpelled(_ word: String) -> Bool {
        word == "--" + name || short.map { word == "-\($0)" } == true
    }

    /// Why `text` is not a value of this option; nil if it is one.
    public func fault(of text: String) -> String? {
        switch kind {
        case .flag: "takes no value"
        case .text: text.isEmpty ? "is empty" : nil
        case .integer(let bounds):
            Self.isNumber(text) && Int(text).map(bounds.contains) == true
                ? nil : "is a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
        case .number(let bounds):
            Self.isNumber(text) && Double(text).map(bounds.contains) == true
                ? nil : "is a number from \(bounds.lowerBound) to \(bounds.upperBound)"
        case .seconds:
            Self.seconds(text) == nil ? "is a number of seconds up to \(Self.secondsMax), such as 2.5" : nil
        case .choice(let words): words.contains(text) ? nil : "is one of: \(words.joined(separator: ", "))"
        }
    }

    /// A year.
    private static let secondsMax = 31_536_000

    /// A number of seconds: digits, perhaps with a fraction, at most a year. Nil for any other text.
    public static func seconds(_ text: String) -> Double? {
        guard isNumber(text), text.first != "-", let value = Double(text), value <= Double(secondsMax) else {
            return nil
        }
        return value
    }

    /// Whether a text may be a number on a command line: it has digits, perhaps with a fraction, perhaps a minus first.
    /// No plus, and none of the other ways to write one.
    public static func isNumber(_ text: String) -> Bool {
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        return text.utf8.count - digits.count <= 1
            && digits.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }
}

/// An argument that is not an option.
public struct CommandParameter: Sendable {
    public enum Count: Sendable {
        case one, optional, any, several
    }

    /// The name in the usage, in capitals.
    public let name: String
    public let count: Count
    /// One line of help.
    public let help: String

    public init(_ name: String, _ help: String, _ count: Count = .one) {
        self.name = name
        self.count = count
        self.help = help
    }

    /// `KEY`, `[KEY]`, `[KEY…]` or `KEY…`.
    public var usage: String {
        switch count {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name)…]"
        case .several: "\(name)…"
        }
    }

    /// Whether it is a file's name, which may have any bytes.
    public var isPath: Bool { ["FILE", "PROGRAM"].contains(name) }

    public var isRequired: Bool { count == .one || count == .several }

    public var repeats: Bool { count == .any || count == .several }
}

/// A program with its arguments that follows `--` on a command line, where no option is read any more.
public struct TrailingCommand: Sendable {
    /// Its name in the usage, and its line of help.
    public let parameter: CommandParameter
    /// The option that it belongs to; nil if it must always be there.
    public let option: CommandOption?

    public init(_ help: String, with option: CommandOption? = nil) {
        parameter = CommandParameter("COMMAND", help, .several)
        self.option = option
    }
}
