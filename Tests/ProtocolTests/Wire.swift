// The wire library's functions with arrays, as the vectors have them.

import PlugboardMemory
import PlugboardWire

/// The questions of the vectors to the wire library.
enum Wire {
    static func validate(_ value: [UInt8]) throws {
        try JSONScanner.validate(value.span)
    }

    /// The code with which a bad value is refused; nil for a good one.
    static func code(of value: [UInt8]) -> String? {
        do {
            try validate(value)
            return nil
        } catch let failure as JSONFailure {
            return Refusal(failure).code.rawValue
        } catch {
            return "\(error)"
        }
    }

    static func keyFault(_ key: [UInt8]) -> Key.Fault? {
        Key.fault(key.span)
    }

    static func patternFault(_ pattern: [UInt8]) -> Key.Fault? {
        Pattern.fault(pattern.span)
    }

    static func isReserved(_ key: String) -> Bool {
        Key.isReserved(Array(key.utf8).span)
    }

    static func matches(_ pattern: String, _ key: String) -> Bool {
        Pattern.matches(Array(pattern.utf8).span, Array(key.utf8).span)
    }

    static func merged(_ patch: [UInt8], into target: [UInt8]?) -> [UInt8] {
        var buffer = ByteBuffer()
        let target = target ?? []
        MergePatch.apply(patch.span, to: target.span, into: &buffer)
        return Array(buffer.bytes)
    }
}
