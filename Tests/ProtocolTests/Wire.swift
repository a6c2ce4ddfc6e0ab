// The wire library's functions in terms of arrays, as the vectors hold them.

import PlugboardWire

/// What the vectors ask of the wire library.
enum Wire {
    static func validate(_ value: [UInt8]) throws {
        try value.withUnsafeBytes { try JSONScanner.validate($0) }
    }

    /// The code that a bad value is refused with; nil for a good one.
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
        key.withUnsafeBytes { Key.fault($0) }
    }

    static func patternFault(_ pattern: [UInt8]) -> Key.Fault? {
        pattern.withUnsafeBytes { Pattern.fault($0) }
    }

    static func isReserved(_ key: String) -> Bool {
        Array(key.utf8).withUnsafeBytes { Key.isReserved($0) }
    }

    static func matches(_ pattern: String, _ key: String) -> Bool {
        Array(pattern.utf8).withUnsafeBytes { pattern in
            Array(key.utf8).withUnsafeBytes { Pattern.matches(pattern, $0) }
        }
    }

    static func merged(_ patch: [UInt8], into target: [UInt8]?) -> [UInt8] {
        var buffer = ByteBuffer()
        patch.withUnsafeBytes { patch in
            guard let target else { return MergePatch.apply(patch, to: nil, into: &buffer) }
            target.withUnsafeBytes { MergePatch.apply(patch, to: $0, into: &buffer) }
        }
        return Array(buffer.bytes)
    }
}
