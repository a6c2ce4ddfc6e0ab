// The broker's answer to a request. It has its own copy of the line, and reads fields when they are
// needed. A field that is missing is 0, null, false or empty. Also the error of an `error` line.

import PlugboardMemory
import PlugboardWire

/// An `ok` line with the places of its fields.
struct Reply: Sendable {
    private let bytes: [UInt8]
    private let line: ParsedLine

    init(copying bytes: Span<UInt8>, _ line: ParsedLine) {
        self.bytes = Array(bytes)
        self.line = line
    }

    var revision: Int { bytes.span.integer(line.revision) ?? 0 }

    /// The server's answer, for a call.
    var value: JSON {
        line.value.isEmpty ? .null : JSON(copying: line.value.bytes(of: bytes.span))
    }

    /// The whole line, for replies that have many fields and are rare.
    var json: JSON { JSON(trusted: bytes) }

    /// Whether a subscription resumes where it was.
    var isResumed: Bool { bytes.span.flag(line.resumed) }

    /// How many emits a subscription missed, if the broker knows, and how many carry the present revision; nil
    /// if nobody asked.
    var emits: (missed: Int?, latest: Int)? {
        guard !line.emits.isEmpty, case let counts = JSON(copying: line.emits.bytes(of: bytes.span)),
            let latest = counts["latest"]?.integer
        else { return nil }
        return (counts["missed"]?.integer, latest)
    }

    /// Whether a server stands in line.
    var isSpare: Bool { bytes.span.flag(line.spare) }

    /// How many keys and lines the broker owes a subscription.
    var owed: Int { bytes.span.integer(line.owed) ?? 0 }

    /// Whether there is another page of keys.
    var hasMore: Bool { bytes.span.flag(line.more) }

    func entry(of key: String) -> Entry {
        let text = bytes.span
        return Entry(
            key: text.text(line.key) ?? key,
            value: value,
            revision: text.integer(line.revision) ?? 0,
            by: text.text(line.by),
            origin: text.text(line.origin),
            when: text.text(line.when),
            cause: text.integer(line.cause),
            reason: text.text(line.reason).map { Event.Reason(rawValue: $0) },
            isWriterLive: text.flag(line.live),
            lifetime: text.lifetime(line),
            ttl: text.milliseconds(line.timeToLive),
            grace: text.milliseconds(line.grace)
        )
    }

    func keys() throws -> [KeyRevision] {
        guard !line.keys.isEmpty else { return [] }
        let text = bytes.span
        var keys: [KeyRevision] = []
        guard var elements = JSONWalk(text, from: line.keys.start, opening: "[") else { return keys }
        while let element = try elements.nextElement() {
            let member = element.bytes(of: text)
            if let fields = ParsedLine(member), let key = member.text(fields.key) {
                let revision = member.integer(fields.revision) ?? 0
                let isLive = member.flag(fields.live)
                keys.append(
                    KeyRevision(
                        key: key,
                        revision: revision,
                        isWriterLive: isLive,
                        lifetime: member.lifetime(fields),
                        ttl: member.milliseconds(fields.timeToLive),
                        grace: member.milliseconds(fields.grace)
                    )
                )
            }
        }
        return keys
    }
}

extension BusError {
    /// The error of an `error` line.
    init(refusal line: ParsedLine, _ bytes: Span<UInt8>) {
        self = .refused(
            code: Code(rawValue: bytes.text(line.head) ?? ""),
            message: bytes.text(line.message) ?? "",
            hint: bytes.text(line.hint),
            revision: bytes.integer(line.revision)
        )
    }
}
