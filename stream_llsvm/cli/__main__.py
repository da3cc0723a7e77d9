"""``python -m stream_llsvm.cli`` is the command too."""

from stream_llsvm.cli.main import main

if __name__ == "__main__":
    main()
