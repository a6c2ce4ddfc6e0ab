// Which users' brokers a client talks to. If another user made the socket first, that user would
// get everything that is published, and clients would believe its answers. So `UnixSocket.connect`
// makes every connection to a broker, and asks here: about the folder before it connects, and about
// the peer before the first byte.

/// The users whose broker is trusted: this user, root, and at most one more.
public struct TrustedUsers: Equatable, Sendable {
    /// The variable that names one more.
    public static let variable = "PLUGBOARD_PEER"

    /// This user and root.
    public static var own: TrustedUsers { TrustedUsers() }

    private let own: UInt32
    private let allowed: UInt32?

    public init(own: UInt32 = Accounts.ownUser, allowed: UInt32? = nil) {
        self.own = own
        self.allowed = allowed
    }

    /// This user, root, and the user named here, by name or number; or else the one in
    /// `PLUGBOARD_PEER`; or else none. An empty variable counts as unset.
    public init(
        naming peer: String?, environment: (String) -> String? = SocketPath.variable
    ) throws(UnknownUser) {
        let named = environment(Self.variable).flatMap { $0.isEmpty ? nil : $0 }
        guard let name = peer ?? named else {
            self.init()
            return
        }
        guard let user = Accounts.user(named: name) ?? UInt32(name), user != PeerIdentity.unknown.user else {
            throw UnknownUser(name: name)
        }
        self.init(allowed: user)
    }

    public func contains(_ user: UInt32) -> Bool {
        user == own || user == 0 || user == allowed
    }

    /// Refuses the folder of the standard place if others could have put a socket into it. A
    /// missing folder has no socket in it, and connecting then says so.
    func check(folderOf path: String, isOwnPlace: Bool) throws(UntrustedBroker) {
        guard isOwnPlace else { return }
        let folder = SocketPath.folder(of: path)
        guard let status = PathCalls.linkStatus(folder) else { return }
        guard contains(status.st_uid) else {
            throw UntrustedBroker(path: path, fault: .folderOfAnother(folder), user: status.st_uid)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw UntrustedBroker(path: path, fault: .noFolder(folder))
        }
        guard status.st_mode & 0o022 == 0 else {
            throw UntrustedBroker(path: path, fault: .openFolder(folder))
        }
    }

    /// Refuses a connection whose other end belongs to another user, or to an unknown one.
    func check(peerOf fd: Int32, path: String) throws(UntrustedBroker) {
        let user = (PeerIdentity(of: fd) ?? .unknown).user
        guard contains(user) else {
            throw UntrustedBroker(path: path, fault: .brokerOfAnother, user: user)
        }
    }
}

/// A refused socket: nothing was sent to it, and nothing was read.
public struct UntrustedBroker: Error, Equatable, CustomStringConvertible {
    public enum Fault: Equatable, Sendable {
        /// Another user listens there.
        case brokerOfAnother
        /// The folder of the standard place belongs to another user.
        case folderOfAnother(String)
        /// Others may write to the folder of the standard place.
        case openFolder(String)
        /// There is a link or a file in its place.
        case noFolder(String)
    }

    public let path: String
    public let fault: Fault
    /// The user to whom it belongs, by name if there is one; nil for the other reasons.
    public let owner: String?

    init(path: String, fault: Fault, user: UInt32? = nil) {
        self.path = path
        self.fault = fault
        owner = user.map { Accounts.name(of: $0) ?? "\($0)" }
    }

    public var description: String {
        let owner = owner ?? "nobody"
        return switch fault {
        case .brokerOfAnother: "the broker at \(path) is another user's (\(owner)): nothing was sent to it"
        case .folderOfAnother(let folder):
            "the folder \(folder) belongs to another user (\(owner)): nothing was sent to a broker in it"
        case .openFolder(let folder):
            "other users may write to the folder \(folder): nothing was sent to a broker in it"
        case .noFolder(let folder): "\(folder) is no folder: nothing was sent to a broker behind it"
        }
    }
}

/// A user that the system's accounts don't have.
public struct UnknownUser: Error, Equatable, CustomStringConvertible {
    public let name: String
    public var description: String { "there is no user \"\(name)\"" }
}
