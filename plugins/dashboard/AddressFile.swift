// The file in which the page's address stands, with the token, beside the broker's socket. Only this user
// can read it. The address is in no log, so the file is the way by which `plugboard dashboard` learns it.

import PlugboardPosix
import PlugboardWire

/// The file with the address of a running dashboard. Its maker removes it.
struct AddressFile {
    /// The file's name is the socket's with this behind it.
    static let suffix = ".dashboard"
    private static let bytesMax = 4_096

    let path: String
    private let text: String

    /// Writes the file, in place of one of an earlier dashboard. Throws `SystemError`.
    init(socket: String, address: String) throws {
        path = socket + Self.suffix
        let object = ObjectText().adding("address", string: address).adding("pid", getpid())
        text = String(decoding: object.bytes, as: UTF8.self) + "\n"
        try OutputFile.writePrivately(text, to: path)
    }

    /// Removes the file, unless another dashboard has written its own address meanwhile.
    func remove() {
        do {
            let present = try InputFile.contents(path: path, limit: Self.bytesMax)
            if present == Array(text.utf8) { UnixSocket.remove(path: path) }
        } catch {
            // It is gone already.
        }
    }
}
