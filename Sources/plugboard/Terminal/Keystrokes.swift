// Finds the letters that a person types in the bytes from a terminal. Keys such as arrows are sequences of
// bytes, which may contain letters that nobody typed.

/// Finds the letters among the bytes.
struct Keystrokes {
    private enum State {
        case plain
        /// After ESC.
        case escape
        /// Within ESC [ …, until its last byte.
        case sequence
        /// One more byte belongs to the sequence.
        case last
    }

    private var state = State.plain

    /// The letters in these bytes. A sequence may end in a later call.
    mutating func take(_ bytes: some Collection<UInt8>) -> [Character] {
        bytes.compactMap { byte in
            switch state {
            case .plain where byte == 0x1B:
                state = .escape
                return nil
            case .plain: return byte < 0x80 ? Character(Unicode.Scalar(byte)) : nil
            case .escape:
                switch byte {
                case 0x1B: break
                case UInt8(ascii: "["): state = .sequence
                case UInt8(ascii: "O"): state = .last
                default: state = .plain
                }
                return nil
            case .sequence:
                if (0x40...0x7E).contains(byte) { state = .plain }
                return nil
            case .last:
                state = .plain
                return nil
            }
        }
    }
}
