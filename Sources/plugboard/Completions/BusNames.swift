// The names on the running bus, for completions. Whoever presses Tab doesn't wait: all of it takes
// at most a fifth of a second, and a bus that is missing, slow or somebody else's has no keys.

import PlugboardPosix
import PlugboardWire

/// Asks the bus for names.
struct BusNames {
    /// How long all of it may take.
    static let seconds = 0.2

    private let connection: BrokerConnection

    /// Connects as the words of a command line say.
    init(for words: [String]) throws {
        let syntax = CommandSyntax(call: Program.name, summary: "", options: [.socket, .peer])
        let invocation = try Invocation(syntax, parsing: Self.addresses(words))
        connection = try BrokerConnection.open(invocation, timeout: Self.seconds)
    }

    /// The keys that begin with a text: one page of them.
    func keys(beginning prefix: String) throws -> [Candidate] {
        let stem = prefix.lastIndex(of: ".").map { String(prefix[...$0]) } ?? ""
        let tail = prefix.dropFirst(stem.count)
        if stem.isEmpty, tail.hasPrefix("$") { return try page("$broker.**", after: nil) }
        let page = try page(stem + "**", after: tail.isEmpty ? nil : prefix)
        return (tail.isEmpty ? [] : try self.page(prefix, after: nil)) + page
    }

    /// The names of the plugins of `up`.
    func plugins() throws -> [Candidate] {
        try (connection.plugins() ?? []).compactMap { plugin in
            plugin["name"]?.string.map { Candidate(word: $0, help: plugin["state"]?.string ?? "") }
        }
    }

    /// What can be called, with who answers it. No word stands for a pattern.
    func services() throws -> [Candidate] {
        try ServiceList(connection, KeyWords([])).services.filter { !$0.isPattern }.map {
            Candidate(word: $0.key, help: $0.client ?? $0.plugin ?? "")
        }
    }

    /// The numbers of the clients, with their names.
    func clients() throws -> [Candidate] {
        try connection.clients().compactMap { client in
            client["client"].map { Candidate(word: $0.text, help: client["name"]?.string ?? "") }
        }
    }

    /// The subscriptions of a client that match one of the first keys, with their patterns.
    func subscriptions(of client: String) throws -> [Candidate] {
        var found: [Candidate] = []
        for key in try page("**", after: nil).prefix(Self.askedMax) + page("$broker.**", after: nil) {
            let reply = try connection.accepted(ObjectWriter(op: "who").adding("key", string: key.word))
            for observer in reply["observers"]?.array?.compactMap(\.object) ?? [] {
                guard observer["client"]?.text == client, let sub = observer["sub"] else { continue }
                let word = sub.string ?? sub.text
                if found.contains(where: { $0.word == word }) { continue }
                found.append(Candidate(word: word, help: observer["pattern"]?.string ?? ""))
            }
        }
        return found
    }

    /// Whose observers are asked for. More would take too long.
    private static let askedMax = 256

    private func page(_ pattern: String, after: String?) throws -> [Candidate] {
        let request = ObjectWriter(op: "keys").adding("key", string: pattern).adding("after", string: after)
        return (try connection.accepted(request)["keys"]?.array ?? []).compactMap { entry in
            entry.object?["key"]?.string.map { Candidate(word: $0) }
        }
    }

    /// The words that say which bus is meant.
    private static func addresses(_ words: [String]) -> [String] {
        let options = [CommandOption.socket, .peer]
        var kept: [String] = []
        var rest = words[...]
        while let word = rest.popFirst(), word != "--" {
            if options.contains(where: { $0.isSpelled(word) }), let value = rest.popFirst() {
                kept += [word, value]
            }
            if options.contains(where: { word.hasPrefix("--\($0.name)=") }) { kept.append(word) }
        }
        return kept
    }
}
