// Why a path is denied to this user: the system only says that it is. The first folder on the way that
// the user may not enter is named, with its owner, or else the file at the end.

/// A folder or a socket that is closed to this user.
public struct ClosedPlace: Error, Equatable, CustomStringConvertible {
    public enum Wish: Sendable {
        case enter, makeFiles, connect
    }

    public let path: String
    public let wish: Wish
    /// The user to whom it belongs, by name if there is one.
    public let owner: String

    private init(_ path: String, _ wish: Wish) {
        (self.path, self.wish) = (path, wish)
        let user = (PathCalls.status(path) ?? PathCalls.linkStatus(path))?.st_uid
        owner = user.map { Accounts.name(of: $0) ?? "\($0)" } ?? "an unknown user"
    }

    /// What closes a path to this user; nil if nothing is found. `isMaking`: a file would be made there.
    init?(on path: String, isMaking: Bool) {
        var end = path.startIndex
        while end < path.endIndex, let slash = path[end...].firstIndex(of: "/") {
            end = path.index(after: slash)
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            if Self.isDenied(folder, X_OK) {
                self.init(folder, .enter)
                return
            }
        }
        let place = isMaking ? SocketPath.folder(of: path) : path
        guard Self.isDenied(place, W_OK) else { return nil }
        self.init(place, isMaking ? .makeFiles : .connect)
    }

    private static func isDenied(_ path: String, _ mode: Int32) -> Bool {
        !PathCalls.mayAccess(path, mode) && errno == EACCES
    }

    public var description: String {
        switch wish {
        case .enter: "the folder \(path) belongs to \(owner), and this user may not enter it"
        case .makeFiles: "the folder \(path) belongs to \(owner), and this user may not make files in it"
        case .connect: "the socket \(path) belongs to \(owner), and this user may not connect to it"
        }
    }
}

extension SystemError {
    /// The same error, or what denies the path if that is known.
    func explained(at path: String, isMaking: Bool = false) -> any Error {
        guard code == EACCES, let place = ClosedPlace(on: path, isMaking: isMaking) else { return self }
        return place
    }
}
