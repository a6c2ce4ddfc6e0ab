// The commit that a package was built from. `.ci/package` writes it into its copy of this file; a build of a
// checkout names none, because nothing would keep the name right.

/// Where this program comes from.
enum BuildCommit {
    static let commit: String? = nil
    /// The address of the package with the libraries, for `new --swift`.
    static let address: String? = nil
}
