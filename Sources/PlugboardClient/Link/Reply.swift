// The broker's answer to a request, kept as the line it was.

import PlugboardWire

/// An `ok` line with the places of its fields.
struct Reply: Sendable {
    private let bytes: [UInt8]
    private let line: BrokerLine

    init(copying bytes: UnsafeRawBufferPointer, _ line: BrokerLine) {
        self.bytes = Array(bytes)
        self.line = line
    }

    var revision: Int { bytes.withUnsafeBytes { $0.integer(line.revision) } ?? 0 }

    /// The result of a call.
    var value: JSON {
        bytes.withUnsafeBytes { line.value.isEmpty ? .null : JSON(copying: line.value.bytes(of: $0)) }
    }

    /// The whole line, for replies that have many fields and are read seldom.
    var json: JSON { JSON(trusted: bytes) }

    /// Whether a subscription goes on where it was.
    var isResumed: Bool { bytes.withUnsafeBytes { $0.flag(line.resumed) } }

    /// How many events wait for a subscription.
    var owed: Int { bytes.withUnsafeBytes { $0.integer(line.owed) } ?? 0 }

    /// Whether a further page of keys follows.
    var hasMore: Bool { bytes.withUnsafeBytes { $0.flag(line.more) } }

    func entry(of key: String) -> Entry {
        bytes.withUnsafeBytes { raw in
            Entry(
                key: raw.text(line.key) ?? key,
                value: line.value.isEmpty ? .null : JSON(copying: line.value.bytes(of: raw)),
                revision: raw.integer(line.revision) ?? 0,
                by: raw.text(line.by),
                cause: raw.integer(line.cause),
                reason: raw.text(line.reason).map { Event.Reason(rawValue: $0) },
                isWriterLive: raw.flag(line.live)
            )
        }
    }

    func keys() throws -> [KeyRevision] {
        guard !line.keys.isEmpty else { return [] }
        return try bytes.withUnsafeBytes { raw in
            var keys: [KeyRevision] = []
            guard var elements = MemberReader(raw, from: line.keys.start, opening: "[") else { return keys }
            while let element = try elements.nextElement() {
                let member = UnsafeRawBufferPointer(rebasing: raw[element.start..<element.end])
                let fields = try BrokerLine(member)
                if let key = member.text(fields.key) {
                    let revision = member.integer(fields.revision) ?? 0
                    let isLive = member.flag(fields.live)
                    keys.append(KeyRevision(key: key, revision: revision, isWriterLive: isLive))
                }
            }
            return keys
        }
    }
}

extension BusError {
    /// What an `error` line says.
    init(refusal line: BrokerLine, _ bytes: UnsafeRawBufferPointer) {
        self = .refused(
            code: Code(rawValue: bytes.text(line.head) ?? ""),
            message: bytes.text(line.message) ?? "",
            hint: bytes.text(line.hint),
            revision: bytes.integer(line.revision)
        )
    }
}
