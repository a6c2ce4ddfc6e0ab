// Finds the keys that a person presses in the bytes from a terminal. Keys such as arrows are sequences of
// bytes, which may contain letters that nobody typed.

/// A key that a program may know.
enum KeyPress: Equatable {
    case letter(Character)
    case up, down, pageUp, pageDown, home, end, f6, f10

    /// What terminals send after ESC [ or ESC O.
    fileprivate static let sequences: [String: KeyPress] = [
        "A": .up, "B": .down, "5~": .pageUp, "6~": .pageDown, "H": .home, "1~": .home, "7~": .home,
        "F": .end, "4~": .end, "8~": .end, "17~": .f6, "21~": .f10,
    ]
}

/// Finds the keys among the bytes.
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
    /// The sequence so far.
    private var sequence = ""

    /// The keys in these bytes. A sequence may end in a later call. Those that mean no key are left out.
    mutating func take(_ bytes: some Collection<UInt8>) -> [KeyPress] {
        bytes.compactMap { byte in
            let character = Character(Unicode.Scalar(byte))
            switch state {
            case .plain where byte == 0x1B:
                state = .escape
                return nil
            case .plain: return byte < 0x80 ? .letter(character) : nil
            case .escape:
                sequence = ""
                switch byte {
                case 0x1B: break
                case UInt8(ascii: "["): state = .sequence
                case UInt8(ascii: "O"): state = .last
                default: state = .plain
                }
                return nil
            case .sequence, .last:
                // No key's sequence is longer.
                if sequence.count < 3 { sequence.append(character) }
                guard state == .last || (0x40...0x7E).contains(byte) else { return nil }
                state = .plain
                return KeyPress.sequences[sequence]
            }
        }
    }
}
