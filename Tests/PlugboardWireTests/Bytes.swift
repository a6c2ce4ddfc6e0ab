// What tests of the wire layer ask of it: a text judged, and a line decoded.

import PlugboardMemory
import PlugboardWire
import TestSupport

/// What the scanner says about a text; nil if it is one JSON value.
func failure(_ bytes: [UInt8]) -> JSONFailure? {
    withBytes(bytes) { bytes in
        do throws(JSONFailure) {
            try JSONScanner.validate(bytes)
            return nil
        } catch {
            return error
        }
    }
}

func failure(_ text: String) -> JSONFailure? {
    failure(Array(text.utf8))
}

/// The text in a buffer.
func text(_ buffer: borrowing ByteBuffer) -> String {
    String(buffer.bytes)
}

/// One decoded line: what tests check of it.
struct Decoded {
    var request = Request()
    var refusal: Refusal?
    var key = ""
    var value = ""
    var id = ""
    var sub = ""
    var patterns: [String] = []
    var pointers = ""
    var writes: [Request] = []
    var writtenKeys: [String] = []
    var options = RequestOptions()
    var call = ""
    var condition = ""
    var errorCode = ""
    var errorMessage = ""
}

func decode(_ line: String) -> Decoded {
    decode(Array(line.utf8))
}

func decode(_ line: [UInt8]) -> Decoded {
    var decoder = RequestDecoder()
    var line = line
    var decoded = Decoded()
    do throws(Refusal) {
        var bytes = line.mutableSpan
        try decoder.decode(&bytes, into: &decoded.request)
    } catch {
        decoded.refusal = error
    }
    func string(_ range: ByteRange) -> String { String(range.bytes(of: line.span)) }
    decoded.key = string(decoded.request.key)
    decoded.value = string(decoded.request.value)
    decoded.id = string(decoded.request.id)
    decoded.sub = string(decoded.request.sub)
    decoded.patterns = decoder.patterns.map(string)
    decoded.pointers = string(decoder.options.fields)
    decoded.writes = decoder.writes
    decoded.writtenKeys = decoder.writes.map { string($0.key) }
    decoded.options = decoder.options
    decoded.call = string(decoder.options.call)
    decoded.condition = string(decoder.options.condition)
    decoded.errorCode = string(decoder.options.errorCode)
    decoded.errorMessage = string(decoder.options.errorMessage)
    return decoded
}
