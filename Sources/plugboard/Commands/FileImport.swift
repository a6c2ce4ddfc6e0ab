// `publish --from`: sends a line to the broker for each line of the file, a blank one if there is nothing to
// write. So the line numbers in the broker's errors are those of the file. Writes have no id, so the broker
// reports only mistakes. A `sync` at the end shows that the broker has handled all lines.

import PlugboardPosix
import PlugboardWire

/// One import of a file.
struct FileImport: ~Copyable {
    /// How many mistakes are reported one by one; the others are counted.
    private static let reportsMax = 20
    private static let sendBytes = 64 * 1024
    /// Fields that `get` and `dump` print besides those that are published. They are accepted and ignored.
    private static let leftAside: Set<String> = ["revision", "by", "reason", "cause", "live", "while"]

    private let console: CommandConsole
    private let connection: BrokerConnection
    private let firstLine: Int
    private let cause: UInt64?
    private var reader: FileLines
    private var bar: ProgressBar
    private var outgoing: [UInt8] = []
    private var lines = 0
    private var sent = 0
    private var refused = 0

    static func run(path: String, _ invocation: Invocation, _ console: CommandConsole) throws {
        let cause = try invocation.namedCause()
        let reader = try FileLines(path: path)
        var work = try FileImport(
            reader: reader,
            connection: BrokerConnection.open(invocation),
            cause: cause,
            console: console
        )
        try work.run(asJSON: invocation.has(.json))
    }

    private init(
        reader: consuming FileLines,
        connection: BrokerConnection,
        cause: UInt64?,
        console: CommandConsole
    ) {
        self.cause = cause
        bar = ProgressBar(total: reader.bytesTotal, on: console.messages)
        self.reader = reader
        self.connection = connection
        self.console = console
        firstLine = connection.linesSent
    }

    private mutating func run(asJSON: Bool) throws {
        let revision: UInt64
        do {
            while let line = try reader.next() {
                take(line)
                if outgoing.count >= Self.sendBytes || reader.mustWait { try flush() }
            }
            revision = try finish()
        } catch let error as CommandError {
            bar.clear()
            throw CommandError(
                error.status,
                "\(error.message), after line \(lines) of \(reader.name)",
                hints: error.hints
            )
        }
        bar.clear()
        try summarize(revision, asJSON)
        if refused > 0 {
            throw CommandError(.refused, "\(refused) of \(sent + refused) lines were not published")
        }
    }

    private mutating func take(_ line: FileLines.Line) {
        lines = line.number
        do throws(JSONFault) {
            if !line.isIgnored {
                outgoing += try Self.request(line, cause)
                sent += 1
            }
        } catch {
            report(line.number, error.message)
        }
        outgoing.append(0x0A)
    }

    /// The request for a line, without its line feed.
    private static func request(_ line: FileLines.Line, _ cause: UInt64?) throws(JSONFault) -> [UInt8] {
        guard let bytes = line.bytes else {
            throw JSONFault(
                offset: 0,
                message: "longer than \(Limits.lineBytesMax) bytes, the limit of a line"
            )
        }
        let object = try JSONObject(parsing: bytes[...])
        var key: JSONValue?
        var value: JSONValue?
        var ttl: JSONValue?
        for member in object.members {
            switch member.name {
            case "key" where key == nil: key = member.value
            case "value" where value == nil: value = member.value
            case "ttl" where ttl == nil: ttl = member.value
            case "key", "value", "ttl":
                throw JSONFault(offset: member.offset, message: "\"\(member.name)\" stands twice")
            default: try check(member)
            }
        }
        guard let key else { throw JSONFault(offset: 0, message: "\"key\" is missing") }
        guard let value else { throw JSONFault(offset: 0, message: "\"value\" is missing") }
        return ObjectText(op: "publish").adding("key", json: key.bytes).adding("value", json: value.bytes)
            .adding("ttl", json: ttl?.bytes).adding("cause", cause).bytes
    }

    private static func check(_ member: JSONObject.Member) throws(JSONFault) {
        if leftAside.contains(member.name) || member.name.hasPrefix("x-") { return }
        let hint = Suggestion.hint(for: member.name, among: ["key", "value"]).map { "; \($0)" } ?? ""
        throw JSONFault(offset: member.offset, message: "a line has no field \"\(member.name)\"\(hint)")
    }

    private mutating func flush() throws {
        try connection.send(outgoing)
        outgoing.removeAll(keepingCapacity: true)
        while let line = try connection.nextLine(milliseconds: 0) { note(line) }
        bar.update(done: reader.bytesRead, count: lines)
    }

    /// Waits until the broker has handled everything. Returns its revision then.
    private mutating func finish() throws -> UInt64 {
        try connection.send(outgoing + ObjectText(op: "sync").adding("id", 1).line)
        while true {
            let line = try connection.nextLine()
            if line.kind == .ok("sync") { return line["revision"]?.integer ?? 0 }
            note(line)
        }
    }

    private mutating func note(_ line: BrokerLine) {
        guard let refusal = line.refusal else { return }
        sent -= 1
        report(Int(clamping: line["line"]?.integer ?? 0) - firstLine, refusal.message)
    }

    private mutating func report(_ number: Int, _ message: String) {
        refused += 1
        bar.clear()
        if refused <= Self.reportsMax { console.say("\(reader.name):\(number): \(message)") }
        if refused == Self.reportsMax + 1 { console.say("…") }
    }

    private func summarize(_ revision: UInt64, _ asJSON: Bool) throws {
        try console.output.line(
            asJSON
                ? "{\"published\":\(sent),\"refused\":\(refused),\"revision\":\(revision)}"
                : "published \(sent) \(sent == 1 ? "value" : "values"), revision \(revision)"
        )
    }
}
