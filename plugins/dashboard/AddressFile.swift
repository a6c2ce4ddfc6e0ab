// Where the page's address stands, with the token: in a file beside the broker's socket, by which `plugboard
// dashboard` learns it, because it is in no log; and in a signpost, a page that leads a browser there, as a
// browser that is started with the address itself would show it to all who list the processes. Only this user
// can read them. Only the dashboard that answers the calls of the bus writes them, over what a killed one left.

import PlugboardPosix
import PlugboardWire
import Synchronization

/// The two files with the address of a running dashboard. Their maker removes them. Any thread may use it.
final class AddressFile: Sendable {
    /// The file's name is the socket's with this behind it.
    static let suffix = ".dashboard"
    private static let bytesMax = 4_096

    let path: String
    private let address: String
    private let text: String
    /// A call may come while they are written for the first time.
    private let writing = Mutex(())

    init(socket: String, address: String) {
        path = socket + Self.suffix
        self.address = address
        let object = ObjectWriter().adding("address", string: address).adding("pid", getpid())
        text = String(decoding: object.bytes, as: UTF8.self) + "\n"
    }

    /// The path of the page that leads to the address.
    var signpost: String { path + ".html" }

    /// Writes the files, unless they are there as they should be. Throws `SystemError`.
    func write() throws {
        try writing.withLock { _ in
            if isWritten { return }
            try OutputFile.writePrivately(page, to: signpost)
            try OutputFile.writePrivately(text, to: path)
        }
    }

    /// Removes the files, unless another dashboard has written its own address meanwhile.
    func remove() {
        guard isWritten else { return }
        UnixSocket.remove(path: path)
        UnixSocket.remove(path: signpost)
    }

    /// Whether the file has this address. It may be missing.
    private var isWritten: Bool {
        do {
            return try InputFile.contents(path: path, limit: Self.bytesMax) == Array(text.utf8)
        } catch {
            return false
        }
    }

    private var page: String {
        """
        <!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=\(address)">
        <a href="\(address)">Plugboard</a>

        """
    }
}
