// Pieces of memory that are sent in one call, as if they were one. They can't be changed or
// freed before this is gone: the compiler ties each piece to what it was lent from.

import PlugboardMemory

/// Room for noting pieces, kept from call to call: it grows with use.
public struct GatheringRoom: ~Copyable {
    fileprivate var vectors = List<iovec>()

    /// Has no memory yet.
    public init() {}
}

/// Up to `piecesMax` pieces of memory, in the order in which they are sent.
public struct GatheredBytes: ~Copyable, ~Escapable {
    /// The most pieces that one gathering write takes.
    public static let piecesMax = 64

    private var vectors: List<iovec>

    /// Begins without a piece.
    @_lifetime(immortal)
    public init(using room: consuming GatheringRoom) {
        vectors = room.vectors
        vectors.removeAll()
    }

    public var count: Int { vectors.count }

    /// Adds a piece. False, and nothing added, where there are `piecesMax` already.
    @discardableResult
    @_lifetime(self: copy self, copy piece)
    public mutating func append(_ piece: Span<UInt8>) -> Bool {
        guard vectors.count < Self.piecesMax else { return false }
        let vector = piece.withUnsafeBytes { piece in
            iovec(iov_base: UnsafeMutableRawPointer(mutating: piece.baseAddress), iov_len: piece.count)
        }
        vectors.append(vector)
        return true
    }

    /// A piece that was added.
    public subscript(index: Int) -> Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let vector = vectors[index]
            let bytes = UnsafeRawBufferPointer(start: vector.iov_base, count: vector.iov_len)
            return _overrideLifetime(Span(_unsafeBytes: bytes), borrowing: self)
        }
    }

    /// Gives the room back for the next call.
    public consuming func finish() -> GatheringRoom {
        var room = GatheringRoom()
        swap(&room.vectors, &vectors)
        return room
    }

    borrowing func send(to fd: Int32) -> Transfer {
        vectors.span.withUnsafeBufferPointer { vectors in
            var message = msghdr()
            message.msg_iov = UnsafeMutablePointer(mutating: vectors.baseAddress)
            message.msg_iovlen = .init(vectors.count)
            return Transfer.ofSending { sendmsg(fd, &message, noSignalFlag) }
        }
    }
}
