// Writes the lines of calls: the event for the server, and the replies to both sides. The caller owns the
// buffer. Values and ids are passed on byte for byte.

import PlugboardMemory

/// Writes the lines of calls.
public enum CallEncoder {
    /// The event for the server. `revision` is the bus's, and the server's writes name it as their cause.
    /// `value` is empty if there is none. `by` is what `EventEncoder.appendAuthor` wrote. `timeout` is how
    /// many milliseconds the caller still waits.
    public static func appendEvent(
        call: UInt64,
        key: Span<UInt8>,
        revision: UInt64,
        value: Span<UInt8>,
        by: Span<UInt8>,
        cause: WriteCause,
        timeout: UInt64,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(#"{"event":"call","call":""#)
        buffer.append(decimal: call)
        buffer.append(#"","key":""#)
        buffer.append(key)
        buffer.append(#"","revision":"#)
        buffer.append(decimal: revision)
        if !value.isEmpty {
            buffer.append(#","value":"#)
            buffer.append(value)
        }
        buffer.append(by)
        cause.append(to: &buffer)
        buffer.append(#","timeout":"#)
        buffer.append(decimal: timeout)
        buffer.append("}\n")
    }

    /// The reply to the caller with the server's value.
    public static func appendAnswer(
        id: Span<UInt8>, key: Span<UInt8>, value: Span<UInt8>, by: Span<UInt8>, to buffer: inout ByteBuffer
    ) {
        ReplyEncoder.appendStart(.call, id: id, to: &buffer)
        buffer.append(#","key":""#)
        buffer.append(key)
        buffer.append(#"","value":"#)
        buffer.append(value)
        buffer.append(by)
        buffer.append("}\n")
    }

    /// The reply to the caller with the server's own error. `by` shows that it isn't the broker's.
    /// `message` is JSON.
    public static func appendFailure(
        code: Span<UInt8>,
        message: Span<UInt8>,
        id: Span<UInt8>,
        line: UInt64,
        by: Span<UInt8>,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(#"{"error":""#)
        buffer.append(code)
        buffer.append("\"")
        ReplyEncoder.appendSubject(id: id, line: line, to: &buffer)
        buffer.append(#","message":"#)
        buffer.append(message)
        buffer.append(by)
        buffer.append("}\n")
    }

    /// The event for a client that stood in line for a key and serves it from now on.
    public static func appendServing(_ key: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(#"{"event":"serving","key":""#)
        buffer.append(key)
        buffer.append("\"}\n")
    }
}
