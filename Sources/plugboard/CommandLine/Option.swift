// One option of a command: its spelling, what value it takes, its line of help.

/// `--name`, or `--name VALUE`.
struct Option: Sendable {
    /// What the value may be.
    enum Kind: Sendable {
        /// It takes none.
        case flag
        case text
        /// A whole number within bounds.
        case integer(ClosedRange<UInt64>)
        /// A number of seconds, fractions allowed.
        case seconds
        /// One of a few words.
        case choice([String])
    }

    /// Without the dashes.
    let name: String
    /// As the value stands in the help, in capitals; empty for a flag.
    let placeholder: String
    let kind: Kind
    let help: String

    init(flag name: String, _ help: String) {
        self.init(name: name, placeholder: "", kind: .flag, help: help)
    }

    init(_ name: String, _ placeholder: String, _ help: String, _ kind: Kind = .text) {
        self.init(name: name, placeholder: placeholder, kind: kind, help: help)
    }

    private init(name: String, placeholder: String, kind: Kind, help: String) {
        self.name = name
        self.placeholder = placeholder
        self.kind = kind
        self.help = help
    }

    var takesValue: Bool {
        if case .flag = kind { false } else { true }
    }

    /// `--socket PATH`.
    var usage: String {
        takesValue ? "--\(name) \(placeholder)" : "--\(name)"
    }

    /// Why `text` is not a value of this option; nil where it is.
    func fault(of text: String) -> String? {
        switch kind {
        case .flag: "takes no value"
        case .text: text.isEmpty ? "is empty" : nil
        case .integer(let bounds):
            UInt64(text).map(bounds.contains) == true
                ? nil : "is a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
        case .seconds: Option.seconds(text) == nil ? "is a number of seconds, such as 2.5" : nil
        case .choice(let words): words.contains(text) ? nil : "is one of: \(words.joined(separator: ", "))"
        }
    }

    /// Seconds as people write them: digits, perhaps with a fraction; at most a year.
    static func seconds(_ text: String) -> Double? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let value = Double(text),
            value <= 31_536_000
        else { return nil }
        return value
    }
}
