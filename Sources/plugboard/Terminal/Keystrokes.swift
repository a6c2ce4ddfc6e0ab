// What a person types, as the bytes of a terminal. Letters are themselves. Arrows and the like are
// sequences, whose bytes don't count as letters.

/// Finds the letters among the bytes.
struct Keystrokes {
    private enum State {
        case plain
        /// Behind ESC.
        case escape
        /// Within ESC [ …, until its last byte.
        case sequence
        /// One byte more belongs to it.
        case last
    }

    private var state = State.plain

    /// The letters in what was read; a sequence may end in a later call.
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
