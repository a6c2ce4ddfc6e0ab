// The help of an operation, for replies to `help` and for hints. `OperationTable` has the texts.

/// What people are told about one operation.
public struct OperationHelp: Sendable {
    /// One clause without a subject, such as "ends a subscription".
    public let summary: String
    /// How a person types it.
    public let shorthand: String
    /// A line that can be sent as it is.
    public let example: String

    private let operation: Operation

    public static func of(_ operation: Operation) -> OperationHelp {
        OperationHelp(operation)
    }

    private init(_ operation: Operation) {
        let row = operation.row
        self.operation = operation
        summary = row.summary.text
        shorthand = row.shorthand.text
        example = row.example.text
    }

    /// A few words on what a field takes in this operation. Every field has some.
    func text(of field: Field) -> String {
        operation.row.fields()[field] ?? field.row.help()
    }

    /// The line of an operation in the list of all. With its quotes and a comma it takes 40 columns, so
    /// that two lines fit side by side on a terminal of 80.
    static func line(of operation: Operation) -> String {
        let row = operation.row
        let words = row.listed.text.isEmpty ? row.shorthand.text : row.listed.text
        let text = words.padded(to: 18) + row.says.text
        return operation == Operation.allCases.last ? text : text.padded(to: 37)
    }

    /// The hint for a word that is no operation: the operation that was probably meant; nil if there is
    /// none.
    public static func hint(for word: String) -> String? {
        if let meant = meant(by: word.lowercased()) { return "did you mean \"\(meant.name)\"?" }
        return Suggestion.hint(for: word, among: Operation.allCases.map { $0.name.text })
    }

    private static func meant(by word: String) -> Operation? {
        Operation.allCases.first { $0.row.synonyms.text.split(separator: " ").contains(Substring(word)) }
    }
}

extension String {
    /// The text with spaces after it, `count` characters long.
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}
