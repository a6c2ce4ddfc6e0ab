// Reads annotated sessions: the files in `protocol/transcripts/` and the blocks
// marked `plugboard` in SPEC.md. Two notations, told apart by what the file holds:
//  - piped: the file is what one client sends, as it stands; `#< ` expects a line;
//  - marked: `A> ` sends, `A< ` expects, the letter may be missing; `+ ` and `#…` are what no client does, or how often.
// `protocol/transcripts/README.md` has the whole notation.

import TestSupport

/// Whose client one is.
struct Account {
    var user: UInt32?
    var groups: [UInt32] = []
    var process: Int32 = 1
    var isSupervisor = false
}

/// One session with one or more clients.
struct Transcript: CustomStringConvertible {
    enum Action {
        /// Sends these bytes. Complete lines have their LF.
        case send([UInt8])
        /// Waits for a line that looks like this.
        case expect(Expectation)
        /// Ends the sending half.
        case finish
        /// Closes without reading on.
        case vanish
        /// Waits for the broker to close.
        case expectEnd
        /// Nothing has come.
        case expectNothing
        /// Connects somebody else's client.
        case connect(Account)
        /// Reads nothing before the next line that is expected.
        case stopReading
        case happen(Event)
    }

    /// What no client does.
    enum Event {
        /// So many milliseconds pass.
        case time(UInt64)
        /// The broker follows this policy from now on.
        case policy(String)
        /// The broker ends and begins again with what it has kept. All connections end.
        case restart
        /// There is another broker, of which nobody knows yet.
        case fresh
    }

    struct Step {
        /// `file:line`, for failures.
        let place: String
        let client: String
        let text: String
        let action: Action
    }

    let name: String
    let steps: [Step]
    /// All of a piped file.
    let piped: [UInt8]?
    /// The policy that its broker begins with, if any: the text after `#policy `.
    let policy: String?

    var description: String { name }

    init(name: String, text: String, firstLine: Int = 1) throws {
        self.name = name
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let isPiped = lines.contains { $0.hasPrefix("#< ") }
        piped = isPiped ? Array(text.utf8) : nil
        var steps: [Step] = []
        for (index, line) in Self.repeated(lines) {
            let place = "\(name):\(firstLine + index)"
            if isPiped, index == lines.count - 1, line.isEmpty { break }
            if let step = isPiped ? try Self.pipedStep(line, place) : try Self.markedStep(line, place) {
                steps.append(step)
            }
        }
        guard let first = steps.first else { throw BadDocument(name, "holds no session") }
        if case .happen(.policy(let text)) = first.action {
            policy = text
            steps.removeFirst()
        } else {
            policy = nil
        }
        self.steps = steps
    }

    /// The lines, each with its index. What stands between `#times` with a number and `#end` comes so many times.
    private static func repeated(_ lines: [Substring]) -> [(index: Int, text: String)] {
        var all: [(index: Int, text: String)] = []
        var block: (times: Int, start: Int)?
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("#times "), let times = Int(line.dropFirst("#times ".count)) {
                block = (times, all.count)
            } else if line == "#end", let (times, start) = block {
                let once = all[start...]
                all.removeSubrange(start...)
                for number in 1...times { all += once.map { ($0.index, numbered($0.text, number)) } }
                block = nil
            } else {
                all.append((index, String(line)))
            }
        }
        return all
    }

    /// A line with the number of the time for `«n»`, and with twice that less one for `«2n-1»`.
    private static func numbered(_ line: String, _ number: Int) -> String {
        line.replacing(#/«(\d*)n([+-]\d+)?»/#) { found in
            String((Int(found.1) ?? 1) * number + (found.2.flatMap { Int($0) } ?? 0))
        }
    }

    /// Sends each line, even comments and expectations, because the broker must ignore them.
    private static func pipedStep(_ line: String, _ place: String) throws -> Step {
        if line.hasPrefix("#< ") {
            let expected = try expectation(String(line.dropFirst(3)), place)
            return Step(place: place, client: "", text: line, action: .expect(expected))
        }
        return Step(place: place, client: "", text: line, action: .send(Array("\(line)\n".utf8)))
    }

    private static func markedStep(_ line: String, _ place: String) throws -> Step? {
        if let event = try event(line, place) {
            return Step(place: place, client: "", text: line, action: .happen(event))
        }
        if line.isEmpty || line.hasPrefix("#") { return nil }
        var rest = Substring(line)
        let client = rest.first?.isUppercase == true ? String(rest.removeFirst()) : ""
        let action =
            switch rest.popFirst() {
            case ">": try sending(rest, place)
            case "<": try expecting(rest, place)
            case "=": Action.connect(try account(rest, place))
            default: throw BadDocument(place, "neither sent nor expected: \(line)")
            }
        return Step(place: place, client: client, text: line, action: action)
    }

    private static func event(_ line: String, _ place: String) throws -> Event? {
        if line == "#restart" { return .restart }
        if line == "#fresh" { return .fresh }
        if line.hasPrefix("#policy ") { return .policy(String(line.dropFirst("#policy ".count))) }
        guard line.hasPrefix("+ ") else { return nil }
        guard let milliseconds = UInt64(line.dropFirst(2)) else { throw BadDocument(place, "no time") }
        return .time(milliseconds)
    }

    /// The numbers behind `user`, `group`, `process` and `supervisor`.
    private static func account(_ rest: Substring, _ place: String) throws -> Account {
        let words = rest.split(separator: " ")
        var account = Account()
        for (word, text) in zip(words, words.dropFirst()) {
            guard let number = UInt32(text) else { continue }
            account.isSupervisor = account.isSupervisor || word == "supervisor"
            switch word {
            case "user": account.user = number
            case "group": account.groups.append(number)
            case "process", "supervisor": account.process = Int32(number)
            default: throw BadDocument(place, "no such account: \(rest)")
            }
        }
        return account
    }

    private static func sending(_ rest: Substring, _ place: String) throws -> Action {
        switch rest {
        case "|": return .finish
        case "!": return .vanish
        case "-": return .stopReading
        case "": return .send([0x0A])
        case _ where rest.hasPrefix("~ "):
            return .send(try Generator.bytes(String(rest.dropFirst(2)), place: place))
        case _ where rest.hasPrefix(" "):
            return .send(try Generator.bytes(String(rest.dropFirst()), place: place) + [0x0A])
        default: throw BadDocument(place, "no such mark: >\(rest)")
        }
    }

    private static func expecting(_ rest: Substring, _ place: String) throws -> Action {
        if rest == "|" { return .expectEnd }
        if rest == "-" { return .expectNothing }
        guard rest.hasPrefix(" ") else { throw BadDocument(place, "no such mark: <\(rest)") }
        return .expect(try expectation(String(rest.dropFirst()), place))
    }

    private static func expectation(_ text: String, _ place: String) throws -> Expectation {
        do {
            return try Expectation(text)
        } catch {
            throw BadDocument(place, "the expected line isn't JSON: \(error)")
        }
    }
}

extension Transcript {
    /// Whether its broker ends and begins again.
    var restarts: Bool {
        steps.contains {
            if case .happen(.restart) = $0.action { true } else { false }
        }
    }

    /// Whether it needs a clock that is played, clients of others, or what only the broker's inside can do.
    var needsHub: Bool {
        !restarts
            && steps.contains {
                switch $0.action {
                case .connect, .stopReading, .happen: true
                default: false
                }
            }
    }

    /// Whether there is a subscription at the end, according to the expected replies.
    var endsSubscribed: Bool {
        let begun = count(#"{"ok":"subscribe""#)
        return begun > count(#"{"ok":"unsubscribe""#)
    }

    private func count(_ beginning: String) -> Int {
        steps.count {
            if case .expect(let expectation) = $0.action { return expectation.text.hasPrefix(beginning) }
            return false
        }
    }

    /// The blocks of a Markdown page that are fenced as ```` ```language ````.
    static func blocks(
        _ language: String, of page: String, name: String
    ) -> [(name: String, firstLine: Int, text: String)] {
        var blocks: [(name: String, firstLine: Int, text: String)] = []
        var block: [Substring]?
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if let open = block {
                guard line == "```" else {
                    block?.append(line)
                    continue
                }
                blocks.append((name, index + 1 - open.count, open.joined(separator: "\n")))
                block = nil
            } else if line == "```\(language)" {
                block = []
            }
        }
        return blocks
    }
}

extension Transcript {
    /// A request with its outcome.
    struct Exchange {
        let place: String
        let request: [UInt8]
        /// Nil if it was done.
        let errorCode: String?
    }

    /// Each sent line with the reply that has its `id`, or else the first reply before the same
    /// client's next line.
    var exchanges: [Exchange] {
        var exchanges: [Exchange] = []
        for (index, step) in steps.enumerated() {
            guard case .send(let bytes) = step.action, bytes.last == 0x0A else { continue }
            for line in bytes.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false) {
                let request = Array(line)
                let id = (try? JSONNode(request))?.members?.first { $0.name == "id" }?.value.text
                // An invalid id doesn't come back. Then it is the first reply.
                let reply =
                    id.flatMap { expectedReply(to: step.client, after: index, id: $0) }
                    ?? expectedReply(to: step.client, after: index, id: nil)
                exchanges.append(
                    Exchange(place: step.place, request: request, errorCode: reply?.errorCode))
            }
        }
        return exchanges
    }

    private func expectedReply(to client: String, after index: Int, id: String?) -> Expectation? {
        for step in steps[(index + 1)...] where step.client == client {
            switch step.action {
            case .expect(let line) where line.isReply && (id == nil || line.id == id): return line
            case .send where id == nil: return nil
            default: continue
            }
        }
        return nil
    }
}
