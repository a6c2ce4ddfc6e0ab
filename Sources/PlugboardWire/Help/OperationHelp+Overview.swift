// The list of all operations that `help` shows, and what other programs call them. Each operation has one
// line. Two lines fit side by side on a terminal of 80 columns.

extension OperationHelp {
    /// The line of an operation in the list. With its quotes and a comma it takes 40 columns.
    static func line(of operation: Operation) -> String {
        let (words, says) = overview(operation)
        let text = words.padded(to: 18) + says
        return operation == Operation.allCases.last ? text : text.padded(to: 37)
    }

    private static func overview(_ operation: Operation) -> (words: String, says: String) {
        let words = of(operation).shorthand
        return switch operation {
        case .hello: (words, "name this client")
        case .publish: (words, "set a value")
        case .emit: (words, "tell, keep nothing")
        case .patch: (words, "change parts of it")
        case .add: (words, "add to a number")
        case .delete: (words, "remove a value")
        case .batch: ("batch (as JSON)", "all writes or none")
        case .get: (words, "read a value")
        case .keys: (words, "list what is there")
        case .subscribe: ("subscribe PATTERN", "observe changes")
        case .unsubscribe: (words, "observe no more")
        default: rareOverview(operation)
        }
    }

    private static func rareOverview(_ operation: Operation) -> (words: String, says: String) {
        let words = of(operation).shorthand
        return switch operation {
        case .pause: (words, "hold it back")
        case .resume: (words, "let it go on")
        case .step: (words, "let so many pass")
        case .acknowledge: (words, "say: dealt with")
        case .will: ("will [WRITE]", "done if I vanish")
        case .goodbye: (words, "end on purpose")
        case .disconnect: (words, "end another's")
        case .serve: (words, "answer its calls")
        case .unserve: (words, "answer no more")
        case .call: (words, "ask its server")
        case .answer: (words, "answer a call")
        case .who: (words, "observers, writer")
        case .why: (words, "what caused it")
        case .trace: ("trace PATTERN", "who is told, when")
        case .explain: ("explain WRITE", "what it would do")
        case .sync: (words, "wait for all so far")
        default: (words, "this, or one of it")
        }
    }

    /// The hint for a word that is no operation: the operation that was probably meant; nil if there is
    /// none.
    public static func hint(for word: String) -> String? {
        if let meant = meant(by: word.lowercased()) { return "did you mean \"\(meant.name)\"?" }
        return Suggestion.hint(for: word, among: Operation.allCases.map { $0.name.text })
    }

    /// The operation that shells or other servers call `word`.
    private static func meant(by word: String) -> Operation? {
        switch word {
        case "exit", "quit", "bye", "logout", "close": .goodbye
        case "?", "h", "man", "usage", "-h", "--help": .help
        case "ls", "list", "dir", "scan": .keys
        case "pub", "set", "put", "write", "store": .publish
        case "sub", "psubscribe", "watch", "observe", "listen": .subscribe
        case "unsub": .unsubscribe
        case "del", "rm", "remove", "unset", "unlink": .delete
        case "read", "cat", "show": .get
        case "merge", "update": .patch
        case "incr", "incrby", "increment", "decr": .add
        case "send", "fire", "notify": .emit
        case "ask", "invoke", "request": .call
        case "answer", "reply", "respond": .answer
        case "acknowledge": .acknowledge
        case "ping": .sync
        case "kill", "kick": .disconnect
        case "login", "name", "hi": .hello
        default: nil
        }
    }
}

extension String {
    /// The text with spaces after it, `count` characters long.
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}
