// The attacker of a row: a process of its own, so its CPU isn't that of the bystanders, and its end is
// that of a client that was killed. It says `ready` on its output when it is set up. The bench owns it
// and kills it.

import PlugboardMemory
import PlugboardPosix

/// What the rows need to attack a broker. Only one thread uses it.
struct Attacker {
    /// The user that an attacker becomes in rows with another user: nobody.
    static let stranger: UInt32 = 65_534
    /// What an attacker says when it is set up.
    static let readyLine = "ready\n"
    let path: String
    let scale: SiegeScale

    /// Attacks as a row says. `words` are the row, the broker's path, the scale, and the bench's
    /// process. Never returns without an error.
    static func run(_ words: [String]) throws {
        guard words.count == 4, let row = SiegeRows.all.first(where: { $0.name == words[0] }),
            let scale = SiegeScale(rawValue: words[2]), let parent = Int32(words[3])
        else { throw BenchRefusal(64, "an attacker is told its row, a path, a scale and its parent") }
        if row.isStranger { try become(stranger) }
        // Changing the user makes the kernel forget what `launch` asks of it, so this comes last.
        guard ParentWatch.signalSelf(SIGKILL, whenParentDies: parent) else { return }
        _ = OpenFiles.raiseLimit()
        let attacker = Attacker(path: words[1], scale: scale)
        do { try row.attack(attacker) } catch BenchError.closed { attacker.hold([]) }
    }

    private static func become(_ user: UInt32) throws {
        guard setgid(user) == 0, setuid(user) == 0 else { throw SystemError.last("setuid") }
    }

    /// A connection that was greeted.
    func connect() throws -> LoadLink {
        let link = try Endpoint.unix(path).connect()
        try link.receive(lines: 1)
        return link
    }

    /// As many connections as this scale has.
    func connect(_ count: Int) throws -> [LoadLink] {
        try (0..<scale.count(count)).map { _ in try connect() }
    }

    /// Sends requests, each of which gets one line, whatever it says.
    func ask(_ link: LoadLink, _ requests: [String]) throws {
        for some in requests.pieces {
            _ = try link.ask(some.joined(separator: "\n") + "\n", lines: some.count)
        }
    }

    /// Makes as many subscriptions as this scale has. `members` has those of one request.
    func subscribe(_ link: LoadLink, _ count: Int, _ members: (Int) -> String) throws {
        let requests = (0..<scale.count(count)).map {
            "{\"op\":\"subscribe\",\"initial\":false,\(members($0))}"
        }
        try ask(link, requests)
    }

    /// Writes as many keys as this scale has: `start` and a number each. `members` is asked again for each
    /// thousand of them.
    func publish(_ link: LoadLink, _ count: Int, _ start: String, _ members: @autoclosure () -> String = "")
        throws
    {
        let count = scale.count(count)
        for first in stride(from: 0, to: count, by: 1000) {
            let members = members()
            let number = min(1000, count - first)
            try link.send(lines(number) { write("\(start)\(first + $0)", "1\(members)") })
        }
        _ = try link.ask("sync\n", lines: 1)
    }

    /// A write that isn't answered.
    func write(_ key: String, _ value: String) -> String {
        "{\"op\":\"publish\",\"key\":\"\(key)\",\"value\":\(value)}"
    }

    /// Lines, each with a line feed.
    func lines(_ count: Int, _ line: (Int) -> String) -> String {
        (0..<count).map { line($0) + "\n" }.joined()
    }

    /// Says that everything is set up.
    func tellReady() {
        _ = StandardStream.output.write(Array(Self.readyLine.utf8))
    }

    /// Keeps connections open until this process is killed.
    func hold(_ links: [LoadLink]) {
        tellReady()
        withExtendedLifetime(links) { while true { Pause.sleep(seconds: 3600) } }
    }

    /// Sends a text again and again on each of the links, and ignores what comes back, also on `others`.
    /// The next time begins when `answers` lines have come. `inputBytes` are read at once. Never returns without an
    /// error.
    func flood(
        _ links: [LoadLink], _ text: String, answers: Int = 0, reading others: [LoadLink] = [],
        inputBytes: Int = Flood.inputBytes
    ) throws {
        // The bytes wait for the broker anyway. The bystanders must not wait for this process.
        Background.yieldToOthers()
        var flood = try Flood(
            links, Array(text.utf8), answers: answers, reading: others, inputBytes: inputBytes)
        tellReady()
        while true { try flood.turn() }
    }
}
