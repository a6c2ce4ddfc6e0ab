// Writes replies as lines: `ok` or `error` first, then the request's `id`, then the rest. The caller owns
// the buffer. An `id` is passed on byte for byte, and every line ends with a line feed.

import PlugboardMemory

/// Writes the `ok` and `error` lines.
public enum ReplyEncoder {
    /// `{"ok":"…","id":…`: the beginning of a reply. An empty `id` is left out.
    public static func appendStart(_ operation: Operation, id: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#"{"ok":""#)
        buffer.append(operation.name)
        buffer.append("\"")
        if !id.isEmpty {
            buffer.append(#","id":"#)
            buffer.append(id)
        }
    }

    /// A reply that only has the revision of the bus.
    public static func appendDone(
        _ operation: Operation, id: Span<UInt8>, revision: UInt64, to buffer: inout ByteBuffer
    ) {
        appendStart(operation, id: id, to: &buffer)
        buffer.append(#","revision":"#)
        buffer.append(decimal: revision)
        buffer.append("}\n")
    }

    /// The same for any write. `sum` is empty unless it is an `add`.
    public static func appendDone(
        _ operation: Operation,
        id: Span<UInt8>,
        revision: UInt64,
        sum: Span<UInt8>,
        to buffer: inout ByteBuffer
    ) {
        if sum.isEmpty { return appendDone(operation, id: id, revision: revision, to: &buffer) }
        appendStart(operation, id: id, to: &buffer)
        buffer.append(member: "revision", revision)
        buffer.append(member: "value", json: sum)
        buffer.append("}\n")
    }

    /// An error. If `id` is empty, it has `line`, the number of the request's line.
    public static func appendRefusal(
        _ refusal: Refusal, id: Span<UInt8>, line: UInt64, to buffer: inout ByteBuffer
    ) {
        buffer.append(#"{"error":""#)
        buffer.append(string: refusal.code.rawValue)
        buffer.append("\"")
        appendSubject(id: id, line: line, to: &buffer)
        appendDetails(of: refusal, to: &buffer)
        buffer.append("}\n")
    }

    /// The fields of an error after its code and its request.
    public static func appendDetails(of refusal: Refusal, to buffer: inout ByteBuffer) {
        if let offset = refusal.offset { buffer.append(member: "at", UInt64(max(0, offset))) }
        if let write = refusal.write { buffer.append(member: "write", UInt64(max(0, write))) }
        if let revision = refusal.revision { buffer.append(member: "revision", revision) }
        if let sub = refusal.sub {
            buffer.append(#","sub":"#)
            buffer.append(string: sub)
        }
        buffer.append(#","message":"#)
        JSONText.append(refusal.message, to: &buffer)
        if let hint = refusal.hint {
            buffer.append(#","hint":"#)
            JSONText.append(hint, to: &buffer)
        }
    }

    /// The request of an error: its `id`, or otherwise its line.
    static func appendSubject(id: Span<UInt8>, line: UInt64, to buffer: inout ByteBuffer) {
        if id.isEmpty { return buffer.append(member: "line", line) }
        buffer.append(member: "id", json: id)
    }

    /// The reply to `help`: all operations, or one.
    public static func appendHelp(about operation: Operation?, id: Span<UInt8>, to buffer: inout ByteBuffer) {
        let start = buffer.count
        appendStart(.help, id: id, to: &buffer)
        if let operation {
            buffer.append(string: #","about":"\#(operation.name)","#)
            appendHelpBody(operation, &buffer)
        } else {
            appendOverview(from: start, &buffer)
        }
        buffer.append("}\n")
    }

    /// Fits a screen of 80 by 24: the line of each operation begins in column 1 or 41.
    private static func appendOverview(from start: Int, _ buffer: inout ByteBuffer) {
        buffer.append(#","usage":""#)
        buffer.append(#"type words as below; JSON is a value, such as 42.50 or \"hello\". "#)
        buffer.append(#"Programs send objects: help publish shows one."#)
        let end: StaticString = #"","operations":["#
        while (buffer.count - start + end.utf8CodeUnitCount) % 80 != 0 { buffer.append(" ") }
        buffer.append(end)
        for operation in Operation.allCases {
            if operation != Operation.allCases.first { buffer.append(",") }
            JSONText.append(OperationHelp.line(of: operation), to: &buffer)
        }
        buffer.append("]")
    }

    private static func appendHelpBody(_ operation: Operation, _ buffer: inout ByteBuffer) {
        let help = OperationHelp.of(operation)
        buffer.append(#""summary":"#)
        JSONText.append(help.summary, to: &buffer)
        appendFields(of: operation, help, &buffer)
        buffer.append(#","example":"#)
        buffer.append(string: help.example)
        buffer.append(#","shorthand":"#)
        JSONText.append(help.shorthand, to: &buffer)
    }

    /// The help of each field, required fields first. Without `op` and `id`, which every request may
    /// have.
    private static func appendFields(
        of operation: Operation, _ help: OperationHelp, _ buffer: inout ByteBuffer
    ) {
        let common = FieldSet().with(.operation).with(.id)
        let required = operation.required.subtracting(common).fields
        let optional = operation.allowed.subtracting(operation.required).subtracting(common).fields
        var separator: StaticString = #","fields":{"#
        for field in required + optional {
            buffer.append(separator)
            separator = ","
            buffer.append(string: #""\#(field.name)":"#)
            let text = help.text(of: field)
            JSONText.append(required.contains(field) ? text : "optional: \(text)", to: &buffer)
        }
        buffer.append(string: required.isEmpty && optional.isEmpty ? #","fields":{}"# : "}")
    }
}
