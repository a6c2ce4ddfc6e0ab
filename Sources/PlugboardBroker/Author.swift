// Who wrote something, as the text that every event about it carries. Values outlive
// their writers' connections, so the text is counted by whoever refers to it.

import PlugboardWire

typealias AuthorReference = UnsafeMutablePointer<Author>

/// The `,"by":"…"` of a client, encoded once.
struct Author {
    private let text: UnsafeMutableRawBufferPointer
    private var references = 1

    /// The encoded text.
    @inline(__always) var by: UnsafeRawBufferPointer { UnsafeRawBufferPointer(text) }

    /// Makes an author with one reference, the caller's.
    static func make(name: UnsafeRawBufferPointer) -> AuthorReference {
        var buffer = ByteBuffer()
        EventEncoder.appendAuthor(name: name, to: &buffer)
        let text = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count, alignment: 1)
        text.copyMemory(from: buffer.bytes)
        let reference = AuthorReference.allocate(capacity: 1)
        reference.initialize(to: Author(text: text))
        return reference
    }

    /// Makes the author of a client that has not given its name: `#7`.
    static func makeUnnamed(client: UInt64) -> AuthorReference {
        var name = "#\(client)"
        return name.withUTF8 { make(name: UnsafeRawBufferPointer($0)) }
    }

    static func retain(_ author: AuthorReference) {
        author.pointee.references += 1
    }

    static func release(_ author: AuthorReference) {
        author.pointee.references -= 1
        guard author.pointee.references == 0 else { return }
        author.pointee.text.deallocate()
        author.deallocate()
    }

    private init(text: UnsafeMutableRawBufferPointer) {
        self.text = text
    }
}
