// Who is at the other end of a Unix socket, as the kernel noted when it connected.

/// A peer's process and user.
public struct PeerIdentity: Equatable, Sendable, BitwiseCopyable {
    /// The process that connected; 0 if the system doesn't say.
    public let process: Int32
    /// Its user at that time.
    public let user: UInt32

    /// An unknown user: no user has this number.
    public static let unknown = PeerIdentity(process: 0, user: .max)

    public init(process: Int32, user: UInt32) {
        self.process = process
        self.user = user
    }
}
