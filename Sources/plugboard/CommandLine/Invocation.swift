// A parsed command line: every option's value was checked against its declaration,
// every argument counted, before a command sees it.

/// What a command was called with.
struct Invocation: Sendable {
    let command: Command
    /// The words that aren't options, in order.
    let arguments: [String]
    private let values: [String: String]

    init(command: Command, arguments: [String], values: [String: String]) {
        self.command = command
        self.arguments = arguments
        self.values = values
    }

    /// Whether an option was given.
    func has(_ option: Option) -> Bool { values[option.name] != nil }

    /// The option's value as written.
    func text(_ option: Option) -> String? { values[option.name] }

    func integer(_ option: Option) -> UInt64? { text(option).flatMap { UInt64($0) } }

    func seconds(_ option: Option) -> Double? { text(option).flatMap(Option.seconds) }

    /// The argument at a position; nil if it was left out.
    func argument(_ index: Int) -> String? {
        arguments.indices.contains(index) ? arguments[index] : nil
    }
}
