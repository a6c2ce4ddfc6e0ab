// Pieces of memory that are sent in one call, as if they were one. They can't be changed or
// freed before this is gone: the compiler ties each piece to what it was lent from.
//
// Why its pointers are safe: each is a piece's own address, noted with its count, and the type can't
// outlive what lent it; an emptied room keeps addresses that nobody follows.

import PlugboardMemory

/// Room for noting pieces, kept from call to call: it grows with use.
@safe
public struct GatheringRoom: ~Copyable {
    fileprivate var vectors = unsafe List<iovec>()

    /// Has no memory yet.
    public init() {}
}

/// Up to `piecesMax` pieces of memory, in the order in which they are sent.
@safe
public struct GatheredBytes: ~Copyable, ~Escapable {
    /// The most pieces that one gathering write takes.
    public static let piecesMax = 64

    private var vectors: List<iovec>

    /// Begins without a piece.
    @_lifetime(immortal)
    public init(using room: consuming GatheringRoom) {
        unsafe vectors = room.vectors
        unsafe vectors.removeAll()
    }

    public var count: Int { unsafe vectors.count }

    /// Adds a piece, unless it is empty. False, and nothing added, if there are `piecesMax` already.
    @discardableResult
    @_lifetime(self: copy self, copy piece)
    public mutating func append(_ piece: Span<UInt8>) -> Bool {
        if piece.isEmpty { return true }
        guard unsafe vectors.count < Self.piecesMax else { return false }
        let vector = unsafe piece.withUnsafeBytes { piece in
            unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: piece.baseAddress), iov_len: piece.count)
        }
        unsafe vectors.append(vector)
        return true
    }

    /// A piece that was added.
    public subscript(index: Int) -> Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let vector = unsafe vectors[index]
            let bytes = unsafe UnsafeRawBufferPointer(start: vector.iov_base, count: vector.iov_len)
            return unsafe _overrideLifetime(Span(_unsafeBytes: bytes), borrowing: self)
        }
    }

    /// Gives the room back for the next call.
    public consuming func finish() -> GatheringRoom {
        var room = GatheringRoom()
        unsafe swap(&room.vectors, &vectors)
        return room
    }

    borrowing func send(to fd: Int32) -> Transfer {
        unsafe vectors.span.withUnsafeBufferPointer { vectors in
            var message = unsafe msghdr()
            unsafe message.msg_iov = UnsafeMutablePointer(mutating: vectors.baseAddress)
            unsafe message.msg_iovlen = .init(vectors.count)
            return Transfer.ofSending { unsafe sendmsg(fd, &message, noSignalFlag) }
        }
    }
}
