"""What each verb of the command line does. A module is imported when its verb is used, and not before."""
