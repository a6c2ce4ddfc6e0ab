// The Python library that this program comes with: a file beside it, or in the checkout in which it was
// built.

import PlugboardPosix

/// The library of Python programs.
enum PythonLibrary {
    static let fileName = "plugboard.py"

    /// Its path; nil if a program has none.
    static func path(for program: String) -> String? {
        var folder = SocketPath.folder(of: program)
        var places = ["\(folder)/\(fileName)"]
        while folder.count > 1 {
            places.append("\(folder)/protocol/python/\(fileName)")
            folder = SocketPath.folder(of: folder)
        }
        return places.first { FileStatus(path: $0).kind == .file }
    }
}
