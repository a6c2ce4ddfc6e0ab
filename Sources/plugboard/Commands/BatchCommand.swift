// `batch`: many writes as one, all or nothing.

import PlugboardWire

extension Command {
    static let batch = Command(
        name: "batch",
        group: .use,
        summary: "make several writes as one: all or nothing, one revision",
        parameters: [CommandParameter("FILE", "JSON lines; - or nothing is standard input", .optional)],
        options: CommandOption.writing,
        details: """
            Each line is one write in the protocol's form: {"op":"publish","key":…,"value":…}, and \
            likewise emit, patch, add and delete. Blank lines and lines that begin with # are ignored. If one \
            write is refused, none is made, and the message names its line.
            """,
        examples: [#"batch changes.ndjson"#],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let path = invocation.argument(0) ?? "-"
        if path.hasPrefix("[") || path.hasPrefix("{") {
            throw CommandError.usage(
                "batch takes the name of a file, and not the writes themselves",
                hint: "send them to its standard input, a write on each line"
            )
        }
        let batch = try BatchFile(path: path, cause: try invocation.namedCause())
        let connection = try BrokerConnection.open(invocation)
        let reply = try connection.request(
            ObjectWriter(op: "batch").adding("writes", json: batch.writes[...]))
        if invocation.has(.json) { try console.output.json(reply.bytes) }
        if let refusal = reply.refusal { throw batch.placed(refusal, write: reply["write"]?.integer) }
        guard !invocation.has(.json), let revision = reply["revision"]?.integer else { return }
        let count = batch.lineNumbers.count
        try console.output.line("\(count) \(count == 1 ? "write" : "writes"), revision \(revision)")
    }
}

/// The writes of a file, as the array that a request carries.
private struct BatchFile {
    let name: String
    /// The line of each write in the file.
    let lineNumbers: [Int]
    let writes: [UInt8]

    /// `cause` is for the writes that name none.
    init(path: String, cause: UInt64?) throws {
        var reader = try FileLines(path: path)
        var numbers: [Int] = []
        var writes: [UInt8] = [UInt8(ascii: "[")]
        while let line = try reader.next() {
            if line.isIgnored { continue }
            if !numbers.isEmpty { writes.append(UInt8(ascii: ",")) }
            writes += try Self.object(line, in: reader.name, cause)
            numbers.append(line.number)
            guard writes.count <= Limits.lineBytesMax else {
                throw CommandError(
                    .refused,
                    "\(reader.name) is more than fits a line of \(Limits.lineBytesMax) bytes, as a batch must"
                )
            }
        }
        name = reader.name
        lineNumbers = numbers
        self.writes = writes + [UInt8(ascii: "]")]
    }

    /// The refusal with the line of its write.
    func placed(_ refusal: CommandError, write: UInt64?) -> CommandError {
        guard let write, write < lineNumbers.count else { return refusal }
        let place = "\(name):\(lineNumbers[Int(write)])"
        return CommandError(refusal.status, "\(place): \(refusal.message)", hints: refusal.hints)
    }

    private static func object(_ line: FileLines.Line, in name: String, _ cause: UInt64?) throws
        -> ArraySlice<UInt8>
    {
        let bytes = line.bytes ?? []
        do throws(JSONFault) {
            let object = try line.object()
            guard let cause, !object.members.isEmpty, object["cause"] == nil else { return bytes[...] }
            let open = bytes.reversed().drop { $0 != UInt8(ascii: "}") }.dropFirst().reversed()
            return open + Array(",\"cause\":\(cause)}".utf8)[...]
        } catch {
            throw CommandError(.refused, "\(name):\(line.number): \(error.message); nothing was written")
        }
    }
}
