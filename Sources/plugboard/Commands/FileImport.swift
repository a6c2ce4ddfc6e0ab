// `publish --from`: sends the broker a `publish` for each line of a file; see `FileSender`.

import PlugboardPosix
import PlugboardWire

/// One import of a file.
struct FileImport: ~Copyable {
    /// Fields that `get` and `dump` print besides those that are published. They are accepted and ignored.
    private static let leftAside: Set<String> = [
        "revision", "by", "origin", "reason", "cause", "live", "while",
    ]

    private let console: CommandConsole
    private let cause: UInt64?
    private var sender: FileSender
    private var sent = 0
    private var refused = 0

    static func run(path: String, _ invocation: Invocation, _ console: CommandConsole) throws {
        let cause = try invocation.namedCause()
        let reader = try FileLines(path: path)
        let sender = try FileSender(reader, BrokerConnection.open(invocation), console)
        var work = FileImport(sender, cause, console)
        try work.run(asJSON: invocation.has(.json))
    }

    private init(_ sender: consuming FileSender, _ cause: UInt64?, _ console: CommandConsole) {
        self.sender = sender
        self.cause = cause
        self.console = console
    }

    private mutating func run(asJSON: Bool) throws {
        let revision: UInt64
        do {
            while let line = try sender.next() {
                noteRefusals()
                take(line)
            }
            revision = try sender.finish()
            noteRefusals()
        } catch let error as CommandError {
            noteRefusals()
            throw sender.located(error)
        }
        sender.clearBar()
        try summarize(revision, asJSON)
        if refused > 0 {
            throw CommandError(.refused, "\(refused) of \(sent + refused) lines were not published")
        }
    }

    private mutating func take(_ line: FileLines.Line) {
        do throws(JSONFault) {
            if !line.isIgnored {
                sender.add(try Self.request(line, cause))
                sent += 1
            }
        } catch {
            report(line.number, error.message)
        }
        sender.endLine()
    }

    /// The request for a line, without its line feed.
    private static func request(_ line: FileLines.Line, _ cause: UInt64?) throws(JSONFault) -> [UInt8] {
        let object = try line.object()
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
        return ObjectWriter(op: "publish").adding("key", json: key.bytes).adding("value", json: value.bytes)
            .adding("ttl", json: ttl?.bytes).adding("cause", cause).bytes
    }

    private static func check(_ member: JSONObject.Member) throws(JSONFault) {
        if leftAside.contains(member.name) || member.name.hasPrefix("x-") { return }
        let hint = Suggestion.hint(for: member.name, among: ["key", "value"]).map { "; \($0)" } ?? ""
        throw JSONFault(offset: member.offset, message: "a line has no field \"\(member.name)\"\(hint)")
    }

    private mutating func noteRefusals() {
        for refusal in sender.takeRefusals() {
            sent -= 1
            report(refusal.line, refusal.message)
        }
    }

    private mutating func report(_ number: Int, _ message: String) {
        refused += 1
        sender.report("\(number): \(message)")
    }

    private func summarize(_ revision: UInt64, _ asJSON: Bool) throws {
        try console.output.line(
            asJSON
                ? "{\"published\":\(sent),\"refused\":\(refused),\"revision\":\(revision)}"
                : "published \(sent) \(sent == 1 ? "value" : "values"), revision \(revision)"
        )
    }
}
